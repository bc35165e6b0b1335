"""Search for good parameters that tells the truth about what it found.

The scores that chose the parameters are too good: of many tries the luckiest wins. So the whole search is repeated
inside the training part of every outer fold, and the score that is reported comes from rows no search has seen.
"""
