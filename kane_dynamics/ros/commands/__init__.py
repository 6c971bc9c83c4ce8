"""What moves the robot: effort commands, and all that watches over them."""
