// SPDX-License-Identifier: MIT
// Every call of the console client in mcp-xxl-job, a published MCP server: main.mjs ADMIN GROUP LOG
// One line of JSON: what each call came to.
import { XxlJobClient } from "./package/dist/src/client.js";

const [admin, group, log] = process.argv.slice(2);
const job = {
  jobGroup: group, jobDesc: "by npm", author: "npm", scheduleType: "CRON", scheduleConf: "0 0 0 1 1 ? 2099",
  misfireStrategy: "DO_NOTHING", executorRouteStrategy: "FIRST", executorBlockStrategy: "SERIAL_EXECUTION",
  glueType: "BEAN", executorHandler: "npmHandler", executorParam: "", executorTimeout: 0, executorFailRetryCount: 0,
};

async function messageOf(call) {
  try {
    await call();
  } catch (error) {
    return error.message;
  }
  return null;
}

const client = new XxlJobClient({ baseUrl: admin, username: "admin", password: "123456", timeoutMs: 10000 });
const cameTo = {};
cameTo.groups = (await client.listJobGroups(1, 10, "grp-")).data.map((row) => row.appname);
const id = await client.addJob(job);
// There is no such call as getById: on its 404 the client pages through the list.
cameTo.found = (await client.getJobById(id)).jobDesc;
await client.updateJob({ ...job, id, jobDesc: "changed" });
await client.startJob(id);
const listed = (await client.listJobs(1, 10, { author: "npm" })).data;
cameTo.listed = listed.map((row) => [row.jobDesc, row.triggerStatus]);
await client.stopJob(id);
await client.triggerJob(id, "from npm");
let logs = [];
for (let i = 0; i < 100 && !(logs.length && logs[0].triggerCode); i++) {
  await new Promise((done) => setTimeout(done, 50));
  logs = (await client.listJobLogs(1, 10, { jobId: id })).data;
}
cameTo.logs = logs.map((row) => [row.triggerCode, row.executorParam]);
cameTo.next = await client.nextTriggerTimes("CRON", "0 0 0 1 1 ? 2098-2099");
cameTo.piece = (await client.logDetailCat(Number(log), "http://127.0.0.1:1/", 5, 1)).toLineNum;
await client.removeJob(id);
cameTo.refused = await messageOf(() => client.startJob(id));
// A session that is gone: the client sees the redirect to the login page and logs in again.
client.cookies.set("XXL_JOB_LOGIN_IDENTITY", "7b7d");
cameTo.again = (await client.listJobGroups(1, 10, "grp-one")).data.length;
const stranger = new XxlJobClient({ baseUrl: admin, username: "admin", password: "wrong", timeoutMs: 10000 });
cameTo.stranger = /Username or password error/.exec(await messageOf(() => stranger.listJobGroups(1, 10)))?.[0];
console.log(JSON.stringify(cameTo));
