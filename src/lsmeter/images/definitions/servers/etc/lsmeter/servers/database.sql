-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the server starts with: one statement a line, each below 60 kB.
create database web;
use web;
create table t (id int primary key, v varchar(100)) engine=innodb;
insert into t select seq, concat('row ', seq, ' ', repeat('x', 44)) from seq_1_to_800;
flush privileges;
create user 'web'@'%' identified by 'web';
grant all on *.* to 'web'@'%';
