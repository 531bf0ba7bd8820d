"""The leaderboard: every exact rule on the same instances, against what is possible and what is claimed."""
