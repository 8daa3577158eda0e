"""Runs jobs on their schedules, unattended: the scheduler, the loop around it, its server and its notifications."""
