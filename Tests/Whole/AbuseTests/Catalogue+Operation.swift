extension Catalogue {
    private static let administration = "NativeSSOProcessTests/AdministrationCommandTests.swift"
    private static let registryFile = "NativeSSOProcessTests/RegistryFileRefusalTests.swift"
    private static let builtCommand = "NativeSSOCommandTests/BuiltCommandTests.swift"
    private static let refusals = "NativeSSOCommandTests/Configuration/RefusalTests.swift"
    private static let sections = "NativeSSOCommandTests/Configuration/RefusalTests+Sections.swift"

    @ListBuilder static var operation: [Case] {
        test("M-01", "M-02", in: "AbuseTests/RegistryScenarioTests.swift", "metricsDoNotGrow")
        test("M-04", in: "NativeSSOProcessTests/ServeTests.swift", "it starts without a database")
        refusal("M-05", in: refusals, "allow_non_loopback")
        test("M-06", in: "AbuseTests/LimitTests.swift", "theInternalListenerIsFull")
    }

    @ListBuilder static var commands: [Case] {
        test("T-01", in: builtCommand, "misuseIsOneLineAndAHint")
        test("T-03", "T-05", in: administration, "what makes no sense is exit 2")
        test("T-06", in: administration, "metacharacters are a name like any other")
        test("T-07", in: "MigratorTests/MigratorTests.swift", "newerDatabaseIsRefusedByTheNameOfItsFile")
        test("T-09", in: "MigratorTests/MigratorTests.swift", "killedMigratorLeavesWholeFilesOnly")
        test("T-10", in: administration, "a database that is away is named without its password")
        test("T-11", in: "NativeSSOProcessTests/KeyCommandTests.swift", "each refused before its time and audited")
        test("T-12", in: "KeyModuleTests/KeyFileTests.swift", "every truncation of a PEM is refused")
        test("T-13", in: registryFile, "invalid UTF-8 and a file that is too long are refused")
        test("T-15", in: builtCommand, "readerThatLeftIsNoFailure")
        test("T-16", in: administration, "the audit knows who and why")
    }

    @ListBuilder static var configuration: [Case] {
        test("G-01", in: builtCommand, "brokenConfigurationIsExplained")
        differs(
            "G-02", in: refusals, "must not end with a slash",
            because: """
                all of it is refused but one: a slash at the end of an identity provider's issuer is a warning, since issuers of \
                large providers end with one and iss is compared octet by octet
                """)
        refusal("G-03", "G-05", in: refusals, "none is no signature")
        test("G-07", in: "LedgerTests/Faults/UnavailabilityTests.swift", "aServerThatKeepsNothing")
        test(
            "G-08", in: "NativeSSOCommandTests/Configuration/ReadingTests.swift", "databaseMayBeLocalOrVerified")
        test("G-11", in: "KeyModuleTests/TokenKeyProviderTests.swift", "a wrong PIN is tried once")
        test("G-13", in: "NativeSSOProcessTests/ServeTests.swift", "SIGHUP reads the key files again, and keeps")
        test("G-14", in: "NativeSSOCommandTests/Configuration/FileTests.swift", "emptySecretIsRefused")
        test("G-15", in: "LedgerTests/Faults/UnavailabilityTests.swift", "aRoleWithoutConnections")
        test("G-16", in: "NativeSSOCommandTests/DatabaseStateTests.swift", "30 s between the clocks")
        refusal("G-17", in: sections, "trace is for development only")
        test("G-19", in: "RegistryTests/AdministrationTests.swift", "oneGroupPerIssuer")
    }
}
