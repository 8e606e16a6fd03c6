-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the server starts with: one statement a line, each below 60 kB.
create database web;
use web;
create table t (id int primary key, v varchar(100)) engine=innodb;
insert into t select seq, concat('row ', seq, ' ', repeat('x', 44)) from seq_1_to_800;
flush privileges;
create user 'web'@'%' identified by 'web';
grant all on *.* to 'web'@'%';
create database sbtest;
use sbtest;
-- As sysbench makes it, with the same rows each time.
create table sbtest1 (id int not null auto_increment primary key, k int not null default 0, c char(120) not null default '', pad char(60) not null default '') engine=innodb;
insert into sbtest1 select seq, 1 + seq * 7919 % 10000, left(concat(sha2(seq, 512), sha2(-seq, 512)), 119), left(sha2(seq + 0.5, 512), 59) from seq_1_to_10000;
create index k_1 on sbtest1 (k);
