"""Minimising in the open: descent with every partial visible, constraints with multipliers, quadratic programs."""
