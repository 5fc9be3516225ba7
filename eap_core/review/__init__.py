"""What people decide about candidates, and in which order; nothing here touches a disk."""
