<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// A page that is computed: the same each time; ?n= for others of the same length.
$first = (int)($_GET["n"] ?? 0);
$rows = [];
for ($i = $first; $i < $first + 200; $i++) {
	$rows[] = md5((string)$i);
}
echo "<html>", implode("<br>", $rows), "</html>\n";
