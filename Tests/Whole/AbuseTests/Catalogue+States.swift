extension Catalogue {
    private static let refreshTests = "AbuseTests/RefreshScenarioTests.swift"
    private static let registryTests = "AbuseTests/RegistryScenarioTests.swift"
    private static let logoutTests = "AbuseTests/LogoutScenarioTests.swift"
    private static let codeTests = "EndToEndTests/CodeEnrolmentTests.swift"
    private static let raceTests = "EndToEndTests/RaceTests.swift"

    @ListBuilder static var refreshes: [Case] {
        rows("R-01", "R-02", "R-04", "R-05", "R-19")
        test("R-08", in: refreshTests, "aLostAnswerIsGivenAgain")
        test("R-12", in: refreshTests, "aReplay")
        test("R-15", in: "AbuseTests/LimitTests.swift", "aDeadFamily")
        test("R-13", in: refreshTests, "aForgedTokenRevokesNothing")
        test("R-14", in: refreshTests, "aTokenAheadOfTheDatabase")
        test("R-16", in: "EndToEndTests/ProcessFaultTests.swift", "aBrokerThatIsKilledBetweenTwoRefreshes")
        test("R-18", in: refreshTests, "aRevocationThatCannotBeWritten")
        test("R-20", in: refreshTests, "oneAppOfTwoIsRevoked")
        doesNotApply("R-21", because: "nothing is revoked by a time: what ends is a session or a grant, each for good")
        test(
            "R-22", in: "NativeSSOProcessTests/AdministrationCommandTests.swift",
            "what is added again keeps what is not given")
    }

    @ListBuilder static var possession: [Case] {
        rows("P-03", "P-04", "P-05", "P-07", "P-13")
        test("P-02", "P-12", in: "AbuseTests/ProofScenarioTests.swift", "aFamilyIsForItsKey")
        test("P-10", in: "BrokerHTTPTests/DPoPTests.swift", "nonces")
        // A proof is counted as the request that it comes with, before anybody looks at it.
        test("P-14", in: "AbuseTests/LimitTests.swift", "spoofedAddresses")
    }

    @ListBuilder static var races: [Case] {
        test("X-01", "X-12", in: refreshTests, "fortyAtOnce")
        test("X-04", "X-05", in: raceTests, "aRefreshWhileTheSessionEnds")
        test("X-13", in: codeTests, "aLostAnswer")
    }

    @ListBuilder static var enrolment: [Case] {
        rows("E-03", "E-04", "E-05", "E-06")
        test("E-08", in: codeTests, "anOrdinaryLogin")
        test("E-09", in: codeTests, "itsErrorsPass")
        test("E-10", in: codeTests, "itFails")
        test("E-11", in: "EndToEndTests/CodeFaultTests.swift", "aTokenThatNoAppGetsIsRevoked")
        test("E-12", in: codeTests, "whatIsRefusedBeforehand")
        test("E-13", in: codeTests, "fromCodeToSibling")
    }

    private static let eventTests = "AbuseTests/EventScenarioTests.swift"

    /// Security events and global token revocations.
    @ListBuilder static var events: [Case] {
        test("Y-01", "Y-02", "Y-03", "Y-04", "Y-05", "Y-06", "Y-07", in: eventTests, "forgedEvent")
        test("Y-08", in: eventTests, "sessionRevoked")
        test("Y-09", in: eventTests, "aRevocationIsUsedOnce")
        test("Y-10", in: "IdentityProviderTests/SecurityEventValidatorTests.swift", "signatureAndKey")
    }

    @ListBuilder static var logout: [Case] {
        test(
            "L-02", "L-03", "L-04", "L-05", "L-06", "L-08", "L-09", in: logoutTests, "forged")
        test("L-11", in: logoutTests, "anIDToken")
        rows("L-12")
        differs(
            "L-13", in: logoutTests, "aSIDOfAnotherIssuer",
            because: """
                what issuer B says of a sid is about B's own (iss, sid), which nobody has seen: a 200, Back-Channel Logout 1.0 §2.7. A \
                refusal would tell B which sids A has given. A's session lives on
                """)
        test("L-14", in: logoutTests, "everySession")
        test("L-15", in: logoutTests, "oneSession")
        test("L-16", in: logoutTests, "again")
        test("L-17", in: "EndToEndTests/LogoutTests.swift", "aLogoutWithoutADatabase")
        test("L-18", in: "RegistryTests/LogoutRegistryTests.swift", "endsASessionAfterItsLockIsFree")
    }

    @ListBuilder static var sessions: [Case] {
        test("V-01", in: registryTests, "theNextUserOfAPhone")
        test("V-02", in: registryTests, "aSessionIsNotBornTwice")
        test("V-04", in: "AbuseTests/LimitTests.swift", "manySessions")
        test("V-05", in: registryTests, "anAppThatLeavesTheGroup")
        test("V-06", in: registryTests, "aScopeThatWasTakenAway")
        rows("V-09", "V-10")
    }
}
