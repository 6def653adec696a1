// SPDX-License-Identifier: Apache-2.0
// The contract of handles, for the JUnit 4 of Hadoop 3.4.
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.contract.AbstractContractPathHandleTest;
import org.apache.hadoop.fs.contract.AbstractFSContract;

public class LustrePathHandle extends AbstractContractPathHandleTest {
    public LustrePathHandle(String name, Options.HandleOpt[] options, boolean serialized) { super(name, options, serialized); }

    protected AbstractFSContract createContract(Configuration conf) { return new LustreContracts.Contract(conf); }
}
