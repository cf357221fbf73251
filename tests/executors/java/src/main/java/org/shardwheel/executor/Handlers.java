/* SPDX-License-Identifier: MIT */
package org.shardwheel.executor;

import com.xxl.job.core.context.XxlJobHelper;
import com.xxl.job.core.handler.annotation.XxlJob;

/** The jobs that tests name in executor_handler. */
public final class Handlers {
    /** Ends well and says what it was given. */
    @XxlJob("demoJobHandler")
    public void demo() {
        XxlJobHelper.handleSuccess("param=" + XxlJobHelper.getJobParam()
                + " shard=" + XxlJobHelper.getShardIndex() + "/" + XxlJobHelper.getShardTotal());
    }

    /** Throws; the stack trace becomes the message of the callback. */
    @XxlJob("failingJobHandler")
    public void failing() {
        throw new IllegalStateException("failing on purpose <&> \uD83D\uDE00");
    }

    /** Takes as many milliseconds as its parameter says. */
    @XxlJob("sleepingJobHandler")
    public void sleeping() throws InterruptedException {
        long millis = Long.parseLong(XxlJobHelper.getJobParam());
        Thread.sleep(millis);
        XxlJobHelper.handleSuccess("slept " + millis + " ms");
    }

    /** Logs as many lines as its parameter says. */
    @XxlJob("loggingJobHandler")
    public void logging() {
        int lines = Integer.parseInt(XxlJobHelper.getJobParam());
        for (int i = 1; i <= lines; i++) {
            XxlJobHelper.log("line " + i + " <&> \uD83D\uDE00");
        }
    }

    /** Logs as many lines as its parameter says, one in a quarter of a second, some in colour. */
    @XxlJob("talkingJobHandler")
    public void talking() throws InterruptedException {
        int lines = Integer.parseInt(XxlJobHelper.getJobParam());
        for (int i = 1; i <= lines; i++) {
            XxlJobHelper.log((i % 3 == 0 ? "\u001B[31mred\u001B[0m " : "") + "word " + i);
            Thread.sleep(250);
        }
    }
}
