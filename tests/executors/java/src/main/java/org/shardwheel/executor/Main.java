/* SPDX-License-Identifier: MIT */
package org.shardwheel.executor;

import com.xxl.job.core.executor.impl.XxlJobSimpleExecutor;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Starts the official executor without a framework. Everything is given by system properties executor.*: admin
 * (comma-separated addresses), appname, address, port, token, logpath. It ends on SIGTERM, as a good executor does:
 * the library then takes its address out of the registry.
 */
public final class Main {
    private Main() {
    }

    private static String property(String name) {
        String value = System.getProperty("executor." + name);
        if (value == null) {
            throw new IllegalArgumentException("-Dexecutor." + name + "=... is missing");
        }
        return value;
    }

    public static void main(String[] args) throws Exception {
        XxlJobSimpleExecutor executor = new XxlJobSimpleExecutor();
        executor.setAdminAddresses(property("admin"));
        executor.setAppname(property("appname"));
        executor.setAddress(property("address"));
        executor.setPort(Integer.parseInt(property("port")));
        executor.setAccessToken(property("token"));
        executor.setLogPath(property("logpath"));
        executor.setLogRetentionDays(3);
        executor.setXxlJobBeanList(List.of(new Handlers()));
        Runtime.getRuntime().addShutdownHook(new Thread(executor::destroy));
        executor.start();
        new CountDownLatch(1).await();
    }
}
