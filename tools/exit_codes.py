"""What the process says when it ends; ``cli`` documents it."""

from specproof.properties.verdict import Verdict

EXIT = {Verdict.HELD: 0, Verdict.FAILED: 1, Verdict.UNDECIDED: 2}
USAGE, CRASH = 64, 70
