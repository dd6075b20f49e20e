/// The cases of the abuse catalogue outside ``Attack``: the test of each, or why it has no test.
enum Catalogue {
    struct Case: Sendable {
        /// Separated by spaces.
        let ids: String
        /// A file below a folder of `Tests`, or of `Sources/Development`; `nil`: the attacked feature does not exist.
        let file: String?
        /// The name of a function, or words of a title or of a row of refusals.
        let words: String
        /// Why there is no test, or why the broker differs from the catalogue.
        let reason: String?

        init(_ ids: String, in file: String, _ words: String, because reason: String? = nil) {
            (self.ids, self.file, self.words, self.reason) = (ids, file, words, reason)
        }

        init(_ ids: String, because reason: String) {
            (self.ids, file, words, self.reason) = (ids, nil, "", reason)
        }
    }

    /// All cases, with the rows.
    static let count = 219

    private static let conformance = "RegistryConformance/Conformance/"
    private static let keySetTests = "AbuseTests/KeySetTests.swift"
    private static let limits = "AbuseTests/LimitTests.swift"
    private static let providerKeys = "IdentityProviderTests/ProviderKeysTests.swift"
    private static let keyFetches = "IdentityProviderTests/ProviderKeyFetchTests.swift"
    private static let codeTests = "EndToEndTests/CodeEnrolmentTests.swift"
    private static let administration = "NativeSSOProcessTests/AdministrationCommandTests.swift"
    private static let serveTests = "NativeSSOProcessTests/ServeTests.swift"
    private static let builtCommand = "NativeSSOCommandTests/BuiltCommandTests.swift"
    private static let refusals = "NativeSSOCommandTests/Configuration/RefusalTests.swift"
    private static let migrator = "MigratorTests/MigratorTests.swift"
    private static let unavailability = "LedgerTests/Faults/UnavailabilityTests.swift"

    private static func scenario(_ name: String) -> String { "AbuseTests/\(name)ScenarioTests.swift" }

    static let elsewhere: [Case] = requests + states + operation

    private static let requests: [Case] = [
        Case(
            "H-28", in: "AbuseTests/Attacks/HTTPAttacks.swift", "another host changes nothing",
            because: """
                two Hosts, none and what is no host are refused; another name is not, since nothing is derived from it, \
                and a proxy may send its own
                """),
        Case("H-20", in: scenario("Wire"), "isGivenUp"),
        Case("H-21", in: scenario("Wire"), "aClientThatDoesNotRead"),
        Case("H-29", in: scenario("Wire"), "requestsOnOneConnection"),
        Case("H-32", in: "NativeSSOProcessTests/TLSTests.swift", "SIGHUP takes the new certificate"),
        Case("C-14", in: scenario("Client"), "anAssertionIsGoodOnce"),
        Case("C-17", in: limits, "manySecrets"),
        Case("J-13", in: providerKeys, "aRevokedKeyVerifiesNothing"),
        // Their keys are of no issuer: over HTTP all of them would be refused, the good ones too, and show nothing.
        Case("J-24", in: "JOSETests/WycheproofTests.swift", "everyVector"),
        Case("J-26", in: "JOSETests/JOSEHeaderTests.swift", "otherWaysToReadThePayload"),
        Case("K-03 W-01 W-06 W-07 W-09 W-15", in: keySetTests, "isAnOutageForItsOwnUsersAlone"),
        Case("K-04", in: scenario("Registry"), "noAddressInATokenIsFollowed"),
        Case("K-26", in: "EndToEndTests/WalkThroughTests.swift", "theEndOfASessionIsTheEndOfBothApps"),
        Case("W-03", in: "IdentityProviderTests/KeySetFetcherTests.swift", "hanging"),
        Case("W-11", in: "JOSETests/JSONWebKeySetTests.swift", "aKeyWithoutAlgorithmIsStillBoundByTheAllowList"),
        Case("W-12", in: keyFetches, "a flood of unknown names causes six fetches in 90 seconds"),
        Case("W-13", in: providerKeys, "firstTokenOfANewKeySucceeds"),
        Case("W-14", in: providerKeys, "aRetiredKeyVerifiesWhatWasIssuedInItsLife"),
        Case("D-10", because: "a device value lives as long as its login, whose end and idleness are in K-19"),
        Case("D-16", in: codeTests, "aDeviceSecretBesideACode"),
        Case(
            "D-18",
            because: "the identity provider makes and replaces device secrets; another one's hash is in K-21"),
        Case("D-22", in: scenario("Proof"), "aDeviceIsForItsKey"),
        Case("D-23", in: conformance + "NameChecks.swift", "8 apps begin one session under it"),
        Case("U-10", in: scenario("Registry"), "aStrongerLogin"),
    ]

    private static let states: [Case] = [
        Case("R-12 R-20", in: scenario("Refresh"), "aReplay"),
        Case("R-15", in: limits, "aDeadFamily"),
        Case("R-13", in: "AbuseTests/Attacks/RefreshAttacks.swift", "another generation"),
        Case("R-14", in: "LedgerTests/Faults/FailoverTests.swift", "writesThatWereLost"),
        Case("R-16", in: "EndToEndTests/ProcessFaultTests.swift", "aBrokerThatIsKilledBetweenTwoRefreshes"),
        Case("R-18", in: scenario("Refresh"), "aRevocationThatCannotBeWritten"),
        Case("R-21", because: "nothing is revoked by a time: what ends is a session or a grant, each for good"),
        Case("R-22", in: administration, "what is added again keeps what is not given"),
        Case("P-02 P-12", in: scenario("Proof"), "aFamilyIsForItsKey"),
        Case("P-10", in: "BrokerHTTPTests/DPoPTests.swift", "nonces"),
        // A proof is counted as the request that it comes with, before anybody looks at it.
        Case("P-14", in: limits, "spoofedAddresses"),
        Case("R-08 X-01 X-12", in: scenario("Refresh"), "fortyAtOnce"),
        Case("X-04 X-05", in: "EndToEndTests/RaceTests.swift", "aRefreshWhileTheSessionEnds"),
        Case("X-13", in: codeTests, "aLostAnswer"),
        Case("E-08", in: codeTests, "anOrdinaryLogin"),
        Case("E-09", in: codeTests, "itsErrorsPass"),
        Case("E-10", in: codeTests, "itFails"),
        Case("E-11", in: "EndToEndTests/CodeFaultTests.swift", "aTokenThatNoAppGetsIsRevoked"),
        Case("E-12", in: codeTests, "whatIsRefusedBeforehand"),
        Case("E-13", in: codeTests, "fromCodeToSibling"),
        Case("Y-01 Y-02 Y-03 Y-04 Y-05 Y-06 Y-07", in: scenario("Event"), "forgedEvent"),
        Case("Y-08", in: scenario("Event"), "sessionRevoked"),
        Case("Y-09", in: scenario("Event"), "aRevocationIsUsedOnce"),
        Case("Y-10", in: "IdentityProviderTests/SecurityEventValidatorTests.swift", "signatureAndKey"),
        Case("L-02 L-03 L-04 L-05 L-06 L-08 L-09", in: scenario("Logout"), "forged"),
        Case("L-11", in: scenario("Logout"), "noToken"),
        Case(
            "L-13", in: scenario("Logout"), "aSIDOfAnotherIssuer",
            because: """
                what issuer B says of a sid is about B's own (iss, sid), which is unknown: a 200, Back-Channel \
                Logout 1.0 §2.7. A refusal would tell B which sids A has given. A's session lives on
                """),
        Case("L-14", in: scenario("Logout"), "everySession"),
        Case("L-15", in: scenario("Logout"), "oneSession"),
        Case("L-16", in: scenario("Logout"), "again"),
        Case("L-17", in: "EndToEndTests/LogoutTests.swift", "aLogoutWithoutADatabase"),
        Case("L-18", in: "RegistryTests/LogoutRegistryTests.swift", "endsASessionAfterItsLockIsFree"),
        Case("V-01 V-02", in: scenario("Registry"), "theNextUserOfAPhone"),
        Case("V-04", in: limits, "manySessions"),
        Case("V-05", in: scenario("Registry"), "anAppThatLeavesTheGroup"),
        Case("V-06", in: scenario("Registry"), "aScopeThatWasTakenAway"),
    ]

    private static let operation: [Case] = [
        Case("M-01 M-02", in: scenario("Registry"), "metricsDoNotGrow"),
        Case("M-04", in: serveTests, "it starts without a database"),
        Case("M-05", in: refusals, "allow_non_loopback"),
        Case("M-06", in: limits, "theInternalListenerIsFull"),
        Case("T-01", in: builtCommand, "misuseIsOneLineAndAHint"),
        Case("T-03 T-05", in: administration, "what makes no sense is exit 2"),
        Case("T-06", in: administration, "metacharacters are a name like any other"),
        Case("T-07", in: migrator, "newerDatabaseIsRefusedByTheNameOfItsFile"),
        Case("T-09", in: migrator, "killedMigratorLeavesWholeFilesOnly"),
        Case("T-10", in: administration, "a database that is away is named without its password"),
        Case("T-11", in: "NativeSSOProcessTests/KeyCommandTests.swift", "each refused before its time and audited"),
        Case("T-12", in: "KeyModuleTests/KeyFileTests.swift", "every truncation of a PEM is refused"),
        Case(
            "T-13", in: "NativeSSOCommandTests/RegistryFileTests.swift", "invalidUTF8AndAFileThatIsTooLong"),
        Case("T-15", in: builtCommand, "readerThatLeftIsNoFailure"),
        Case("T-16", in: administration, "the audit knows who and why"),
        Case("G-01", in: builtCommand, "brokenConfigurationIsExplained"),
        Case(
            "G-02", in: refusals, "must not end with a slash",
            because: """
                all of it is refused but one: a slash at the end of an identity provider's issuer is a warning, since \
                issuers of large providers end with one and iss is compared octet by octet
                """),
        Case("G-03 G-05", in: refusals, "none is no signature"),
        Case("G-07", in: unavailability, "aServerThatKeepsNothing"),
        Case("G-08", in: "NativeSSOCommandTests/Configuration/ReadingTests.swift", "databaseMayBeLocalOrVerified"),
        Case("G-11", in: "KeyModuleTests/TokenKeyProviderTests.swift", "a wrong PIN is tried once"),
        Case("G-13", in: serveTests, "SIGHUP reads the key files again, and keeps"),
        Case("G-14", in: "NativeSSOCommandTests/Configuration/FileTests.swift", "emptySecretIsRefused"),
        Case("G-15", in: unavailability, "aRoleWithoutConnections"),
        Case("G-16", in: "NativeSSOCommandTests/DatabaseStateTests.swift", "30 s between the clocks"),
        Case("G-17", in: refusals, "trace is for development only"),
        Case("G-19", in: "RegistryTests/AdministrationTests.swift", "oneGroupPerIssuer"),
    ]
}
