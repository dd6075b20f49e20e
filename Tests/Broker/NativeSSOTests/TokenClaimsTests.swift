import BrokerTesting
import StrictCoding
import Testing

@testable import NativeSSO

/// The exact payloads of the broker's tokens. Only `jti` differs from token to token.
@Suite struct TokenClaimsTests {
    @Test func accessTokenOfRFC9068() throws {
        let key = KeyThumbprint(validated: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        for (claims, ofItsOwn) in [
            (access(), #","auth_time":1794990000,"acr":"urn:example:loa2","amr":["pwd","otp"]"#),
            (access(login: Login()), ""),
            (access(login: Login(), key: key), #","cnf":{"jkt":"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}"#),
        ] {
            try expect(
                claims.json,
                #"{"iss":"https://sso.example.com","sub":"248289761001","aud":"https://api.example.com","#
                    + #""client_id":"app-two","iat":1795000000,"nbf":1795000000,"exp":1795000300,"jti":"*","#
                    + #""scope":"profile orders.read","session_id":"019a2b3c-4d5e-7000-8000-000000000001","#
                    + #""idp":"https://idp.example.com"\#(ofItsOwn)}"#)
        }
    }

    @Test func severalAudiencesAreAnArray() throws {
        let json = access(audiences: ["https://a.example", "https://b.example"]).json
        let claims = try #require(try JSONReader.parse(json).object)
        #expect(claims.strings("aud") == ["https://a.example", "https://b.example"])
        #expect(!claims.contains("act") && !claims.contains("nonce"))
    }

    @Test(arguments: [
        (Profile.deviceID, "di_hash"), (.deviceSecret, "ds_hash"), (.deviceSecretTransitional, "ds_hash"),
    ])
    func siblingIDToken(profile: Profile, claim: String) throws {
        let device = try #require(DeviceValue("95twdf3w4y6wvftw35634t", profile: profile))
        try expect(
            access().siblingIDToken(in: SessionID(validated: "08a5019c"), on: device, hashFunction: .sha384),
            #"{"iss":"https://sso.example.com","sub":"248289761001","aud":"app-two","iat":1795000000,"#
                + #""exp":1795000300,"jti":"*","sid":"08a5019c","#
                + #""idp":"https://idp.example.com","\#(claim)":"OMTSlEe8Pp8Iyg-zeRe48x2aYZYlNsg7","#
                + #""auth_time":1794990000,"acr":"urn:example:loa2","amr":["pwd","otp"]}"#)
    }

    /// The mint quotes the text of every claim of a login.
    @Test func hostileTextStaysText() throws {
        let hostile = "\",\"admin\":true,\"x\":\"\\\u{0}\n\u{2028}é"
        let json = access(login: Login(contextClass: hostile, methods: [hostile])).json
        let claims = try #require(try JSONReader.parse(json).object)
        #expect(claims.string("acr").map { Array($0.utf8) } == Array(hostile.utf8))
        #expect(!claims.contains("admin"))
    }

    @Test func everyTokenHasAnIDOfItsOwn() throws {
        let ids = try (0..<1000).map { _ in try #require(try JSONReader.parse(access().json).object?.string("jti")) }
        #expect(Set(ids).count == 1000)
        #expect(ids.allSatisfy { Base64URL.decode($0)?.count == 16 })
    }

    private let login = Login(
        authenticatedAt: UnixTime(seconds: 1_794_990_000), contextClass: "urn:example:loa2", methods: ["pwd", "otp"])

    private func access(
        audiences: [String] = ["https://api.example.com"], login: Login? = nil, key: KeyThumbprint? = nil,
        copied: CopiedClaims = CopiedClaims()
    ) -> AccessTokenClaims {
        AccessTokenClaims(
            issuer: Broker.issuer, subject: Subject(validated: "248289761001"),
            provider: Issuer(validated: "https://idp.example.com"), audiences: audiences,
            client: ClientID(validated: "app-two"), issuedAt: UnixTime(seconds: 1_795_000_000),
            expiresAt: UnixTime(seconds: 1_795_000_300), scope: Scope(["profile", "orders.read"]),
            login: login ?? self.login,
            session: UniqueID(high: 0x019A_2B3C_4D5E_7000, low: 0x8000_0000_0000_0001), key: key,
            copied: copied)
    }

    private func expect(
        _ json: [UInt8], _ golden: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let jti = try #require(try JSONReader.parse(json).object?.string("jti"))
        let text = String(decoding: json, as: UTF8.self).replacing(jti, with: "*")
        #expect(text == golden, sourceLocation: sourceLocation)
    }
}
