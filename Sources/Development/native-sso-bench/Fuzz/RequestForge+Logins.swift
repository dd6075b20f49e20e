import BrokerTesting
import OAuthWire
import StrictCoding

/// Logins that begin and end: each is of one request, so that those which the other requests need live on.
extension RequestForge {
    /// A login that its app brings, to have an id_token of the broker's for it.
    func enrolment(_ number: Int, _ random: inout SeededRandom) throws -> FuzzedRequest {
        let login = material.login(number)
        var claims = login.claims(at: material.now)
        claims["di_hash"] = nil
        let token = try BentToken(material.key.header(), claims, by: material.key, &random)
        var form = FuzzForm(FuzzMaterial.exchange(login, "", client: SampleApps.source))
        form.set(Parameter.subjectToken, FuzzForm.escaped(token.octets))
        form.set(Parameter.requestedTokenType, FuzzForm.escaped(TokenTypeURI.idToken.rawValue))
        if random.oneIn(2) {
            form.remove(Parameter.actorToken)
            form.remove(Parameter.actorTokenType)
            form.set(Parameter.scope, FuzzForm.escaped("openid device_sso"))
        }
        let bendsForm = random.oneIn(4)
        if bendsForm { form.mutate(&random) }
        return FuzzedRequest(
            number, FuzzMessage(form), at: .http1,
            .init(mustSucceed: token.isGood && !bendsForm, subjects: token.subject.map { [$0] } ?? []))
    }

    /// An authorization code of the identity provider: a new one, or another request's code with a different verifier.
    /// RFC 6749 §4.1.3, RFC 7636 §4.5.
    func code(_ number: Int, _ random: inout SeededRandom) -> FuzzedRequest {
        let isStolen = random.oneIn(4)
        let login = material.login(isStolen ? earlier(number, .code) ?? number : number)
        var form = FuzzForm([
            (Parameter.grantType, GrantType.authorizationCode.rawValue), (Parameter.clientID, SampleApps.source),
            (Parameter.code, material.codes.code(for: login.sid)), (Parameter.redirectURI, FuzzCodes.redirectURI),
            (Parameter.codeVerifier, isStolen ? "\(number)-\(FuzzCodes.verifier)" : FuzzCodes.verifier),
        ])
        if random.oneIn(2) { form.set(Parameter.deviceID, FuzzForm.escaped(login.device)) }
        let bendsForm = !isStolen && random.oneIn(2)
        if bendsForm { form.mutate(&random) }
        return FuzzedRequest(
            number, FuzzMessage(form), at: .http1,
            .init(
                mustBeRefused: isStolen, mustSucceed: !isStolen && !bendsForm, mayBeInFlight: true,
                subjects: [login.subject]))
    }

    /// A logout token for an unknown login, or for a recently enrolled one. Back-Channel Logout 1.0 §2.4.
    func logout(_ number: Int, _ random: inout SeededRandom) throws -> FuzzedRequest {
        let login = material.login(random.oneIn(2) ? earlier(number, .enrolment) ?? number : number)
        var claims = JSONObject([
            "iss": .string(SampleApps.issuer), "aud": .string(SampleApps.source),
            "iat": .number(JSONNumber(material.now)), "exp": .number(JSONNumber(material.now + 120)),
            "jti": .string(material.login(number).device),
        ])
        let saysUser = random.oneIn(3)
        if saysUser { claims["sub"] = .string(login.subject) }
        if !saysUser || random.oneIn(2) { claims["sid"] = .string(login.sid) }
        claims["events"] = .object(
            JSONObject(["http://schemas.openid.net/event/backchannel-logout": .object(JSONObject())]))
        let token = try BentToken(material.key.header(type: "logout+jwt"), claims, by: material.key, &random)
        var form = FuzzForm([])
        form.set(Parameter.logoutToken, FuzzForm.escaped(token.octets))
        let bendsForm = random.oneIn(4)
        if bendsForm { form.mutate(&random) }
        var message = FuzzMessage(form)
        message.target = Array("/backchannel-logout".utf8)
        let isSaid = token.endsSession(at: material.now)
        return FuzzedRequest(
            number, message, at: .internal, .init(mustBeRefused: !isSaid, mustSucceed: token.isGood && !bendsForm))
    }

    /// A request of a kind that has been answered by now: more are never under way.
    private func earlier(_ number: Int, _ kind: Kind) -> Int? {
        (1500..<2500).lazy.map { number - $0 }.first { $0 >= 0 && self.kind($0) == kind }
    }
}
