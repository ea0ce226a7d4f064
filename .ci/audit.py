"""Ask for published advisories about the locked packages: `python .ci/audit.py requirements/run.txt`.

Exit code 1 if there is one that `ACCEPTED` doesn't name. Where nobody answers it says so, and passes: a build
without a network is not a vulnerable one.
"""

import json
import subprocess
import sys
from typing import Any

ACCEPTED = {
    "CVE-2025-69872": "diskcache unpickles what it stores; judges/ledger takes nothing but text",
}


def main(lock: str) -> int:
    """Print what is known about the packages of `lock`; return the exit code."""
    found = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--requirement", lock, "--require-hashes", "--disable-pip",
         "--format", "json", "--progress-spinner", "off", "--timeout", "10"],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    packages: list[dict[str, Any]] = json.loads(found.stdout)["dependencies"] if found.stdout else []
    answered = [package for package in packages if "vulns" in package]
    if not answered:
        reason = packages[0]["skip_reason"] if packages else found.stderr.strip().splitlines()[-1:]
        print(f"advisories NOT checked, none could be read: {reason}")
        return 0
    return report(answered, len(packages))


def report(answered: list[dict[str, Any]], packages: int) -> int:
    """Print one line an advisory; 1 if any is not accepted."""
    unaccepted = 0
    for package in answered:
        for advisory in package["vulns"]:
            names = {advisory["id"], *advisory["aliases"]}
            reason = next((ACCEPTED[name] for name in names if name in ACCEPTED), None)
            unaccepted += reason is None
            print(f"{package['name']} {package['version']} {advisory['id']}: {reason or 'NOT accepted'}")
    print(f"advisories checked for {len(answered)} of {packages} packages, {unaccepted} not accepted")
    return int(unaccepted > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
