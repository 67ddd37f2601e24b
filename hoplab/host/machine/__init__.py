# SPDX-License-Identifier: Apache-2.0
"""Where a run happens: a User-Mode Linux guest or this host."""
