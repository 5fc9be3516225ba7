#!/bin/sh
# Leave a Chromium for the browser tests: one that is there, the system's package, or playwright's.
set -u
playwright=$1
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
"$playwright" install --dry-run chromium 2>/dev/null | sed -n 's/^ *Install location: *//p' |
  while read -r folder; do [ -d "$folder" ] && echo found; done | grep -q found && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "installing Chromium from the system's packages"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null && exit 0
fi
echo "installing Chromium with playwright"
"$playwright" install chromium && exit 0
echo "no browser could be installed: the browser tests will be skipped"
exit 0
