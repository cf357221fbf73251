#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The calls of the console in the manner people script them: console.sh A|B|C|D URL GROUP
# Prints what each came to; ends with status 1 at the first that is not as expected.
set -euo pipefail

dialect=$1
B=$2
group=$3
jar=$(mktemp)
trap 'rm -f "$jar"' EXIT

# expect NAME PATTERN ANSWER
expect() {
  if [[ $3 =~ $2 ]]; then
    echo "$1: ok"
  else
    echo "$1: expected $2, got: $3"
    exit 1
  fi
}

call() {
  local path=$1
  shift
  curl -sS -b "$jar" "$@" "$B$path"
}

JOB=(-d "jobGroup=$group" -d author=me -d scheduleType=CRON --data-urlencode 'scheduleConf=0/10 * * * * ?'
  -d misfireStrategy=DO_NOTHING -d executorRouteStrategy=FIRST -d executorBlockStrategy=SERIAL_EXECUTION
  -d glueType=BEAN -d executorHandler=demoJobHandler)

# What differs: names of paths, of paging, of the job's name, of where an id is put.
case $dialect in
  A) login=/login add=/jobinfo/add remove=/jobinfo/remove name=jobDesc content=content cookie=XXL_JOB_LOGIN_IDENTITY ;;
  B) login=/auth/doLogin add=/jobinfo/add remove=/jobinfo/remove name=jobDesc content=content cookie=xxl_job_login_token ;;
  C) login=/auth/doLogin add=/jobinfo/insert remove=/jobinfo/delete name=jobDesc content=data cookie=xxl_job_login_token ;;
  D) login=/auth/doLogin add=/jobinfo/insert remove=/jobinfo/delete name=name content=data cookie=xxl_job_login_token ;;
esac
case $dialect in
  A | B) paging=(-d start=0 -d length=10) id=id ;;
  C | D) paging=(-d offset=0 -d pagesize=10) id='ids[]' ;;
esac
filters=()
[ "$dialect" = A ] || filters=(-d "$name=" -d executorHandler= -d author=)

expect "log in" '"code":200' "$(curl -sS -c "$jar" -d userName=admin -d password=123456 "$B$login")"
grep -q "$cookie" "$jar" || { echo "no cookie $cookie"; exit 1; }

answer=$(call /jobinfo/pageList -d "jobGroup=$group" -d triggerStatus=-1 "${filters[@]}" "${paging[@]}")
expect "list" '"data":\[' "$answer"

answer=$(call $add -d $name=demo "${JOB[@]}")
expect "add" "\"$content\":\"[0-9]+\"" "$answer"
job=$(sed -E "s/.*\"$content\":\"([0-9]+)\".*/\1/" <<<"$answer")

expect "start" '"code":200' "$(call /jobinfo/start --data-urlencode "$id=$job")"
answer=$(call /jobinfo/pageList -d "jobGroup=$group" -d triggerStatus=1 -d $name=demo -d executorHandler= -d author= "${paging[@]}")
expect "it runs" "\"id\":$job,.*\"triggerStatus\":1" "$answer"
expect "trigger" '"code":200' "$(call /jobinfo/trigger -d "id=$job" -d executorParam= -d addressList=)"
expect "stop" '"code":200' "$(call /jobinfo/stop --data-urlencode "$id=$job")"
expect "remove" '"code":200' "$(call $remove --data-urlencode "$id=$job")"

answer=$(curl -sSi -d "jobGroup=$group" "$B/jobinfo/pageList")
case $dialect in
  A) expect "without a session" $'^HTTP/1.1 302.*\n[Ll]ocation: [^\n]*/toLogin' "$answer" ;;
  B) expect "without a session" '^HTTP/1.1 200.*"code":203' "$answer" ;;
  *) expect "without a session" '^HTTP/1.1 200.*"code":500' "$answer" ;;
esac
