"""Images from files, archives and folders: each loads right or says in a sentence why not."""
