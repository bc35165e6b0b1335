import sys
from pathlib import Path

# Other processes find the models of these tests by the name of their module.
sys.path.insert(0, str(Path(__file__).parent))
