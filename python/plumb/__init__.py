# SPDX-License-Identifier: Apache-2.0
"""What plumb offers to Python programs."""
