<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// What a policy must refuse although every user may read the file.
$text = @file_get_contents("/srv/lsmeter/secret");
echo $text === false ? "denied" : "read: " . trim($text), "\n";
