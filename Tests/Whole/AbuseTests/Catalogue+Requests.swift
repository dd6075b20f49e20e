extension Catalogue {
    private static let wire = "AbuseTests/WireScenarioTests.swift"
    private static let keySetTests = "AbuseTests/KeySetTests.swift"
    private static let providerKeys = "IdentityProviderTests/ProviderKeysTests.swift"

    @ListBuilder static var http: [Case] {
        rows(
            "H-02", "H-03", "H-06", "H-07", "H-08", "H-09", "H-10", "H-11", "H-12", "H-13", "H-15", "H-23", "H-27")
        differs(
            "H-28", in: "AbuseTests/Attacks/HTTPAttacks.swift", "another host changes nothing",
            because: """
                two Hosts, none and what is no host are refused; another name is not, since nothing is derived from it, and a proxy \
                may send its own
                """)
        test("H-20", in: wire, "isGivenUp")
        test("H-21", in: wire, "aClientThatDoesNotRead")
        test("H-29", in: wire, "requestsOnOneConnection")
        test("H-32", in: "NativeSSOProcessTests/TLSTests.swift", "SIGHUP takes the new certificate")
    }

    @ListBuilder static var forms: [Case] {
        rows(
            "F-01", "F-02", "F-03", "F-04", "F-05", "F-06", "F-08", "F-09", "F-10", "F-11", "F-12", "F-13", "F-14",
            "F-17", "F-18")
    }

    @ListBuilder static var clients: [Case] {
        rows(
            "C-01", "C-02", "C-04", "C-05", "C-08", "C-09", "C-11", "C-12", "C-13", "C-15", "C-16")
        test("C-14", in: "AbuseTests/ClientScenarioTests.swift", "anAssertionIsGoodOnce")
        test("C-17", in: "AbuseTests/LimitTests.swift", "manySecrets")
    }

    @ListBuilder static var tokens: [Case] {
        rows(
            "J-01", "J-02", "J-04", "J-06", "J-07", "J-08", "J-11", "J-12", "J-14", "J-17", "J-19", "J-23", "J-25")
        test("J-13", in: providerKeys, "aRevokedKeyVerifiesNothing")
        // Their keys are of no issuer: over HTTP all of them would be refused, the good ones too, and show nothing.
        test("J-24", in: "JOSETests/WycheproofTests.swift", "everyVector")
        test("J-26", in: "JOSETests/JOSEHeaderTests.swift", "otherWaysToReadThePayload")
    }

    @ListBuilder static var claims: [Case] {
        rows(
            "K-01", "K-06", "K-07", "K-08", "K-10", "K-13", "K-14", "K-15", "K-16", "K-17", "K-18", "K-19", "K-21",
            "K-23", "K-24", "K-25")
        test("K-03", in: keySetTests, "aDisabledIssuerIsRefused")
        test("K-04", in: "AbuseTests/RegistryScenarioTests.swift", "noAddressInATokenIsFollowed")
        test("K-26", in: "EndToEndTests/WalkThroughTests.swift", "theEndOfASessionIsTheEndOfBothApps")
    }

    @ListBuilder static var keySets: [Case] {
        test("W-01", "W-06", "W-09", "W-15", in: keySetTests, "isAnOutageForItsOwnUsersAlone")
        test("W-03", in: "IdentityProviderTests/KeySetFetcherTests.swift", "hanging")
        test("W-07", in: keySetTests, "noRedirectIsFollowed")
        test("W-11", in: keySetTests, "aKeyWithoutAlgorithm")
        test("W-12", in: keySetTests, "aFloodOfUnknownKeys")
        test("W-13", in: providerKeys, "firstTokenOfANewKeySucceeds")
        test("W-14", in: providerKeys, "aRetiredKeyVerifiesWhatWasIssuedInItsLife")
    }

    @ListBuilder static var devices: [Case] {
        rows("D-02", "D-03", "D-04", "D-05", "D-06", "D-07", "D-12", "D-14", "D-17", "D-19", "D-21")
        doesNotApply("D-10", because: "a device value lives as long as its login, whose end and idleness are in K-19")
        test("D-16", in: "EndToEndTests/CodeEnrolmentTests.swift", "aDeviceSecretBesideACode")
        doesNotApply(
            "D-18", because: "the identity provider makes and replaces device secrets; another one's hash is in K-21")
        test("D-22", in: "AbuseTests/ProofScenarioTests.swift", "aDeviceIsForItsKey")
        test("D-23", in: "AbuseTests/RegistryScenarioTests.swift", "tenSiblingsUseOneLogin")
    }

    @ListBuilder static var scopesAndTargets: [Case] {
        rows("S-01", "S-03", "S-05", "S-06", "S-09", "U-01", "U-02", "U-03", "U-04", "U-08")
        test("U-10", in: "AbuseTests/RegistryScenarioTests.swift", "aStrongerLogin")
    }
}
