// SPDX-License-Identifier: MIT
package org.shardwheel.client;

import com.teoan.job.auto.core.config.AdminProperties;
import com.teoan.job.auto.core.config.ExecutorProperties;
import com.teoan.job.auto.core.config.XxlJobAutoConfigProperties;
import com.teoan.job.auto.core.model.XxlJobGroup;
import com.teoan.job.auto.core.model.XxlJobInfo;
import com.teoan.job.auto.core.service.impl.JobGroupServiceImpl;
import com.teoan.job.auto.core.service.impl.JobInfoServiceImpl;
import com.teoan.job.auto.core.service.impl.JobLoginServiceImpl;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.List;

/** What xxl-job-auto does at the start of an application: Main ADMIN USER PASSWORD APPNAME. */
public final class Main {
    public static void main(String[] args) throws Exception {
        XxlJobAutoConfigProperties properties = propertiesOf(args[0], args[1], args[2], args[3]);
        JobLoginServiceImpl login = start(new JobLoginServiceImpl(), properties, null);
        JobGroupServiceImpl groups = start(new JobGroupServiceImpl(), properties, login);
        JobInfoServiceImpl jobs = start(new JobInfoServiceImpl(), properties, login);

        System.out.println("there before: " + groups.preciselyCheck());
        System.out.println("registered: " + groups.autoRegisterGroup());
        System.out.println("there behind: " + groups.preciselyCheck());
        XxlJobGroup group = groups.getJobGroup().get(0);
        System.out.println("group: " + group.getAppname() + " " + group.getTitle() + " " + group.getAddressType());

        XxlJobInfo job = jobOf(group.getId());
        Integer id = jobs.addJobInfo(job);
        job.setId(id);
        job.setAuthor("changed");
        System.out.println("added: " + (id > 0));
        System.out.println("updated: " + jobs.updateJobInfo(job));
        List<XxlJobInfo> found = jobs.getJobInfo(group.getId(), "autoHandler");
        System.out.println("found: " + found.size() + " " + found.get(0).getExecutorHandler() + " "
            + found.get(0).getAuthor() + " " + (found.get(0).getId() == id));
    }

    private static XxlJobAutoConfigProperties propertiesOf(String admin, String user, String password, String appname) {
        AdminProperties of = new AdminProperties();
        of.setAddresses(admin);
        of.setUsername(user);
        of.setPassword(password);
        ExecutorProperties executor = new ExecutorProperties();
        executor.setAppname(appname);
        executor.setTitle("Auto");
        executor.setAddressType(1);
        executor.setAddressList("http://127.0.0.1:1/");
        XxlJobAutoConfigProperties properties = new XxlJobAutoConfigProperties();
        properties.setAdmin(of);
        properties.setExecutor(executor);
        return properties;
    }

    private static XxlJobInfo jobOf(int group) {
        XxlJobInfo job = new XxlJobInfo();
        job.setJobGroup(group);
        job.setJobDesc("auto job");
        job.setAuthor("auto");
        job.setScheduleType("CRON");
        job.setScheduleConf("0 0 0 1 1 ? 2099");
        job.setGlueType("BEAN");
        job.setExecutorHandler("autoHandler");
        job.setExecutorRouteStrategy("ROUND");
        job.setMisfireStrategy("DO_NOTHING");
        job.setExecutorBlockStrategy("SERIAL_EXECUTION");
        job.setGlueRemark("GLUE");
        job.setTriggerStatus(0);
        return job;
    }

    /** What Spring does with its beans. */
    private static <T> T start(T service, XxlJobAutoConfigProperties properties, Object login) throws Exception {
        for (Field field : service.getClass().getDeclaredFields()) {
            field.setAccessible(true);
            if (field.getName().equals("properties")) {
                field.set(service, properties);
            } else if (field.getName().equals("jobLoginService")) {
                field.set(service, login);
            }
        }
        Method init = service.getClass().getDeclaredMethod("init");
        init.setAccessible(true);
        init.invoke(service);
        return service;
    }
}
