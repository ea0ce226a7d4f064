"""The judge protocol: one method. Retry, governor, ledger and panel are judges around judges."""

from __future__ import annotations

from typing import Protocol

from adjudge.judges.failure import Failure
from adjudge.judges.request import JudgeRequest
from adjudge.judges.verdict import Answer


class Judge(Protocol):
    """Anything that can say whether statements are true of evidence."""

    async def judge(self, request: JudgeRequest, /) -> Answer | Failure:
        """Answer `request`, or say why not. A judge's failure is a value.

        Raises:
            UsageError: the judge can't be asked as configured (no API key, unknown parameter).
            StorageError: a verdict could not be stored.
        """
        ...
