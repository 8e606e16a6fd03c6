create role web superuser login;
create table t (id int primary key, v varchar(100));
insert into t select n, 'row ' || n || ' ' || repeat('x', 44) from generate_series(1, 800) n;
create table sbtest1 (id serial primary key, k int not null default 0, c char(120) not null default '', pad char(60) not null default '');
insert into sbtest1 select n, 1 + n * 7919 % 10000, left(repeat(md5(n::text), 4), 119), left(repeat(md5((-n)::text), 2), 59) from generate_series(1, 10000) n;
select setval('sbtest1_id_seq', 10000);
create index k_1 on sbtest1 (k);
