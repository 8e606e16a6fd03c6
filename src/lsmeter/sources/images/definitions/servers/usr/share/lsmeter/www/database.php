<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// A page made of ten rows of a table of 800; ?n= for those that follow another.
$first = (int)($_GET["n"] ?? 400);
$database = new mysqli("127.0.0.1", "web", "web", "web");
$rows = $database->query("select id, v from t where id between $first + 1 and $first + 10 order by id");
echo "<html>";
while ($row = $rows->fetch_assoc()) {
	echo $row["id"], ":", $row["v"], "<br>";
}
echo "</html>\n";
$database->close();
