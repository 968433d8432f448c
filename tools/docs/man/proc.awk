# SPDX-License-Identifier: GPL-2.0
# docs/proc.md in the form of which lowdown makes the body of the manual page gpulens(5): no title, sections one level up, and
# a list of terms for each table, which would be a box of columns too narrow to read.
/^# / { next }
/^##/ { sub(/^#/, "") }
!/^\|/ { in_table = 0; print; next }
{
	count = split(substr($0, 3, length($0) - 4), cells, / \| /)
	if (!in_table) {
		in_table = 1
		for (i = 1; i <= count; i++)
			titles[i] = cells[i]
		next
	}
	if (cells[1] ~ /^---/)
		next
	text = count == 2 ? cells[2] : titles[2] ": " cells[2]
	for (i = 3; i <= count; i++)
		text = text "; " titles[i] ": " cells[i]
	print cells[1] "\n: " text "\n"
}
