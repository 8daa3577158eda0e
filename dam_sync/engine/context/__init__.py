"""What every part of the engine may need of a run: both services, the state, the mapping, the policy, the progress."""
