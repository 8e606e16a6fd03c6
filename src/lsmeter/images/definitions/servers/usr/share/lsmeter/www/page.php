<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// A page that is computed: the same each time.
$rows = [];
for ($i = 0; $i < 200; $i++) {
	$rows[] = md5((string)$i);
}
echo "<html>", implode("<br>", $rows), "</html>\n";
