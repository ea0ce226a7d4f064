"""How far a run can be believed: judges measured against people and against themselves."""
