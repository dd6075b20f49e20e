import NativeSSO
import Testing

@testable import native_sso

/// Whose `authorization_endpoint` stands in the metadata.
@Suite struct AdvertisedLoginTests {
    private static let (one, two) = (Issuer(validated: "https://one"), Issuer(validated: "https://two"))

    private func relay(_ issuer: Issuer, sendsIssuer: Bool = false) -> AdvertisedLogin.Relay {
        AdvertisedLogin.Relay(issuer: issuer, endpoint: "\(issuer)/authorize", sendsIssuer: sendsIssuer)
    }

    @Test func thatOfTheOnlyRelay() {
        #expect(AdvertisedLogin.automatic.endpoint([relay(Self.one)]) == "https://one/authorize")
        #expect(AdvertisedLogin.never.endpoint([relay(Self.one)]) == nil)
    }

    @Test func noneOfTwo() {
        let relays = [relay(Self.one), relay(Self.two)]
        #expect(AdvertisedLogin.automatic.endpoint(relays) == nil)
        #expect(AdvertisedLogin.automatic.endpoint([]) == nil)
        #expect(AdvertisedLogin.provider(Self.two).endpoint(relays) == "https://two/authorize")
    }

    /// RFC 9207: the client would compare the IdP's `iss` with the broker's.
    @Test func notOneThatSendsItsIssuer() {
        #expect(AdvertisedLogin.automatic.endpoint([relay(Self.one, sendsIssuer: true)]) == nil)
        #expect(AdvertisedLogin.provider(Self.one).endpoint([relay(Self.one, sendsIssuer: true)]) != nil)
    }

    @Test func theKey() throws {
        let relayed = SampleFile.adding("    code_relay: {}")
        #expect(try SampleFile.read(relayed).advertisedLogin == .automatic)
        #expect(try SampleFile.read(relayed + "advertise_login: none\n").advertisedLogin == .never)
        let issuer = "advertise_login: https://idp.example.com\n"
        #expect(
            try SampleFile.read(relayed + issuer).advertisedLogin
                == .provider(Issuer(validated: "https://idp.example.com")))
        #expect(
            SampleFile.problems(SampleFile.minimal + issuer) == [
                "test.yaml:10: advertise_login: is the issuer of no enabled identity provider with code_relay; write one, "
                    + "auto or none"
            ])
    }
}
