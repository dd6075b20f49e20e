import Testing

/// Rows of the catalogue that wait for what they are about. Each shows up as skipped, with its reason.
struct OutstandingTests {
    @Test("C-17: secrets tried by the thousand", .disabled("no limits for each caller are built yet"))
    func manySecrets() {}

    @Test(
        "D-10, D-16, D-18: device secrets that expire, rotate or belong to somebody else",
        .disabled("the identity provider makes and keeps them"))
    func deviceSecrets() {}

    @Test("D-22: a device that is pinned to a key", .disabled("nothing proves a key yet")) func pinnedDevices() {}

    @Test("H-32: resumed TLS sessions", .disabled("the broker terminates no TLS")) func sessionResumption() {}

    @Test("J-13: a revoked key of the identity provider", .disabled("no command revokes one yet")) func revokedKeys() {}

    @Test(
        "W-14: a key that its issuer withdrew",
        .disabled("it goes on verifying what it signed while it was published; IdentityProvider's own tests"))
    func withdrawnKeys() {}

    @Test("J-24: published vectors", .disabled("they run against the verifier itself, in JOSE's own tests"))
    func publishedVectors() {}

    @Test("M-05: an internal listener for everyone", .disabled("the configuration refuses it; its own tests"))
    func listenerForEveryone() {}

    @Test("M-06, V-04: limits for each caller and user", .disabled("not built yet")) func limits() {}

    @Test("R-21, R-22: a time before which nothing is good", .disabled("no such policy is built")) func notBefore() {}

    @Test("U-10: an exchange that asks for a stronger login", .disabled("it cannot ask; what a client demands is K-24"))
    func strongerLogin() {}

    @Test("X-13: cached tokens of the relay", .disabled("there is no relay")) func relay() {}
}
