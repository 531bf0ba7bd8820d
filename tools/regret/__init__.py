"""``specproof regret``: what a bandit over drafters loses, the paper's claims about that, and its published simulations."""
