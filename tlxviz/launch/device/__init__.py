"""What the simulated device is: its clock, its memory, and the launches whose outputs it still owes."""
