"""``python -m eap_core``."""

from eap_core.cli import main

if __name__ == "__main__":
    main()
