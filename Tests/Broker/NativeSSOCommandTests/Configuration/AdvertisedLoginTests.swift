import NativeSSO
import Testing

@testable import native_sso

/// Whose `authorization_endpoint` stands in the metadata.
@Suite struct AdvertisedLoginTests {
    private static let (one, two) = (Issuer(validated: "https://one"), Issuer(validated: "https://two"))

    private func relay(_ issuer: Issuer, sendsIssuer: Bool = false) -> AdvertisedLogin.Relay {
        AdvertisedLogin.Relay(issuer: issuer, endpoint: "\(issuer)/authorize", sendsIssuer: sendsIssuer)
    }

    @Test func thatOfTheOnlyRelayOrTheNamedOne() {
        let (first, second) = (relay(Self.one), relay(Self.two))
        #expect(AdvertisedLogin.automatic.endpoint([first]) == "https://one/authorize")
        #expect(AdvertisedLogin.never.endpoint([first]) == nil)
        #expect(AdvertisedLogin.automatic.endpoint([first, second]) == nil)
        #expect(AdvertisedLogin.automatic.endpoint([]) == nil)
        #expect(AdvertisedLogin.provider(Self.two).endpoint([first, second]) == "https://two/authorize")
        // RFC 9207: the client would compare the IdP's `iss` with the broker's.
        let strict = relay(Self.one, sendsIssuer: true)
        #expect(AdvertisedLogin.automatic.endpoint([strict]) == nil)
        #expect(AdvertisedLogin.provider(Self.one).endpoint([strict]) != nil)
    }

    @Test func theKey() throws {
        let relayed = SampleFile.adding("    code_relay: {}")
        #expect(try SampleFile.read(relayed).advertisedLogin == .automatic)
        #expect(try SampleFile.read(relayed + "advertise_login: none\n").advertisedLogin == .never)
        let issuer = "advertise_login: https://idp.example.com\n"
        #expect(
            try SampleFile.read(relayed + issuer).advertisedLogin
                == .provider(Issuer(validated: "https://idp.example.com")))
    }
}
