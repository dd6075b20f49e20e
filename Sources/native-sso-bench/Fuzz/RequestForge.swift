import BrokerTesting
import OAuthWire
import StrictCoding

/// Makes the requests: good ones of every kind, bent where it tells. The same seed and number bend in the same way; keys,
/// logins and the time are those of the run.
struct RequestForge {
    let seed: UInt64
    let material: FuzzMaterial

    /// Of a hundred requests: 30 with a bent form, 30 with bent JSON in a token that the identity provider signed all the same,
    /// 12 with a bent token, 10 refreshes, 11 by clients that prove who they are, 4 with a bent head, 3 without framing.
    func request(_ number: Int) throws -> FuzzedRequest {
        var random = SplitMix64(seed: seed &+ UInt64(number) &* 0xD129_0D3E_8CF5_A2AB)
        switch random.below(100) {
        case 0..<30: return try post(number, form(&random))
        case 30..<42: return try post(number, signedToken(bendsHeader: true, &random))
        case 42..<60: return try post(number, signedToken(bendsHeader: false, &random))
        case 60..<72: return bentToken(number, &random)
        case 72..<82: return bentRefresh(number, &random)
        case 82..<93: return try provenClient(number, &random)
        case 93..<97: return bentHead(number, &random)
        default:
            var octets = Self.octets(exchange(&random).octets)
            if random.oneIn(3) { octets += Self.octets(exchange(&random).octets) }
            OctetMutation.apply(to: &octets, &random)
            return FuzzedRequest(number: number, octets: octets, isFramed: false)
        }
    }

    /// A good exchange, which nothing has bent.
    func goodExchange() -> [UInt8] {
        let (login, token) = material.logins[0]
        return Self.octets(FuzzForm(FuzzMaterial.exchange(login, token, client: SampleApps.targets[0])).octets)
    }

    // MARK: Kinds

    private func form(_ random: inout SplitMix64) -> FuzzForm {
        var form =
            random.oneIn(4)
            ? FuzzForm(FuzzMaterial.refresh(random.pick(material.refreshTokens) ?? "")) : exchange(&random)
        form.mutate(&random)
        return form
    }

    private func signedToken(bendsHeader: Bool, _ random: inout SplitMix64) throws -> FuzzForm {
        let (login, _) = material.logins[random.below(material.logins.count)]
        let (header, claims) = (material.key.header(), login.claims(at: material.now))
        let token = try material.key.sign(
            header: bendsHeader ? JSONMutation.text(of: header, &random) : JSONMutation.text(.object(header)),
            payload: bendsHeader ? JSONMutation.text(.object(claims)) : JSONMutation.text(of: claims, &random))
        var form = FuzzForm(FuzzMaterial.exchange(login, token, client: app(&random)))
        if random.oneIn(4) { form.set(Parameter.actorTokenType, FuzzForm.escaped(TokenTypeURI.deviceSecret.rawValue)) }
        return form
    }

    private func bentToken(_ number: Int, _ random: inout SplitMix64) -> FuzzedRequest {
        let (login, token) = material.logins[random.below(material.logins.count)]
        var octets = Array(token.utf8)
        if random.oneIn(3) {
            // The parts of another token.
            let other = material.logins[random.below(material.logins.count)].token.split(separator: ".")
            var parts = token.split(separator: ".")
            parts[random.below(3)] = other[random.below(3)]
            octets = Array(parts.joined(separator: ".").utf8)
        } else {
            OctetMutation.apply(to: &octets, &random)
        }
        var form = FuzzForm(FuzzMaterial.exchange(login, "", client: app(&random)))
        form.set(Parameter.subjectToken, FuzzForm.escaped(octets))
        return FuzzedRequest(
            number: number, octets: Self.octets(form.octets), mustBeRefused: octets != Array(token.utf8))
    }

    private func bentRefresh(_ number: Int, _ random: inout SplitMix64) -> FuzzedRequest {
        let token = random.pick(material.refreshTokens) ?? ""
        var octets = Array(token.utf8)
        if !random.oneIn(8) { OctetMutation.apply(to: &octets, &random) }
        var form = FuzzForm(FuzzMaterial.refresh(""))
        form.set(Parameter.refreshToken, FuzzForm.escaped(octets))
        return FuzzedRequest(
            number: number, octets: Self.octets(form.octets), mustBeRefused: octets != Array(token.utf8))
    }

    private func provenClient(_ number: Int, _ random: inout SplitMix64) throws -> FuzzedRequest {
        var form = exchange(&random)
        form.remove(Parameter.clientID)
        guard random.oneIn(2) else {
            let assertion = try assertion(number, &random)
            form.set(Parameter.clientAssertionType, FuzzForm.escaped(ClientAssertionType.jwtBearer.rawValue))
            form.set(Parameter.clientAssertion, FuzzForm.escaped(assertion))
            if random.oneIn(4) { form.mutate(&random) }
            return FuzzedRequest(number: number, octets: Self.octets(form.octets))
        }
        var credentials = Array("\(FuzzMaterial.confidential):\(material.secret)".utf8)
        if random.oneIn(2) { OctetMutation.apply(to: &credentials, &random) }
        var value = Array("Basic \(Base64.encode(credentials))".utf8)
        if random.oneIn(2) { OctetMutation.apply(to: &value, &random) }
        return FuzzedRequest(
            number: number,
            octets: Self.octets(
                form.octets, fields: Array("Authorization: ".utf8) + Self.oneLine(value) + [0x0D, 0x0A]))
    }

    private func assertion(_ number: Int, _ random: inout SplitMix64) throws -> [UInt8] {
        let header = material.clientKey.header(type: "client-authentication+jwt")
        var claims = JSONObject()
        for name in ["iss", "sub"] { claims[name] = .string(FuzzMaterial.signer) }
        claims["aud"] = .string(FuzzMaterial.broker)
        claims["iat"] = .number(JSONNumber(material.now))
        claims["exp"] = .number(JSONNumber(material.now + 240))
        claims["jti"] = .string("\(seed)-\(number)")
        let bendsHeader = random.oneIn(3)
        var token = Array(
            try material.clientKey.sign(
                header: bendsHeader ? JSONMutation.text(of: header, &random) : JSONMutation.text(.object(header)),
                payload: bendsHeader ? JSONMutation.text(.object(claims)) : JSONMutation.text(of: claims, &random)
            ).utf8)
        if random.oneIn(4) { OctetMutation.apply(to: &token, &random) }
        return token
    }

    private func bentHead(_ number: Int, _ random: inout SplitMix64) -> FuzzedRequest {
        let body = exchange(&random).octets
        var target = Array((random.pick(["/token", "/token?a=b", "/", "/metrics", "/readyz", "/token/"]) ?? "").utf8)
        if random.oneIn(2) { OctetMutation.apply(to: &target, &random) }
        // In no other form than that of a path, and one word: the request must end where it says.
        target = Self.oneLine(target).filter { (0x21...0x7E).contains($0) }
        if target.first != UInt8(ascii: "/") { target.insert(UInt8(ascii: "/"), at: 0) }
        var type = Array("application/x-www-form-urlencoded".utf8)
        if random.oneIn(2) { OctetMutation.apply(to: &type, &random) }
        let method = random.pick(["POST", "POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "PATCH"]) ?? ""
        var octets = Array("\(method) ".utf8) + target + Array(" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ".utf8)
        octets += Self.oneLine(type) + Array("\r\nContent-Length: \(body.count)\r\n".utf8)
        for _ in 0..<random.below(4) {
            var value = Array((random.pick(["Basic YXBwLTAwOg==", "x", "gzip", "application/json", "en"]) ?? "").utf8)
            if random.oneIn(2) { OctetMutation.apply(to: &value, &random) }
            let name = random.pick(["Authorization", "Content-Encoding", "Accept", "X-A", "Cookie", "DPoP"]) ?? ""
            octets += Array("\(name): ".utf8) + Self.oneLine(value) + [0x0D, 0x0A]
        }
        return FuzzedRequest(number: number, octets: octets + [0x0D, 0x0A] + body)
    }

    // MARK: Parts

    private func exchange(_ random: inout SplitMix64) -> FuzzForm {
        let (login, token) = material.logins[random.below(material.logins.count)]
        return FuzzForm(FuzzMaterial.exchange(login, token, client: app(&random)))
    }

    private func app(_ random: inout SplitMix64) -> String { random.pick(SampleApps.targets) ?? "" }

    private func post(_ number: Int, _ form: FuzzForm) throws -> FuzzedRequest {
        FuzzedRequest(number: number, octets: Self.octets(form.octets))
    }

    private static func octets(_ form: [UInt8], fields: [UInt8] = []) -> [UInt8] {
        var head = TokenRequest.head(bodyLength: form.count)
        head.insert(contentsOf: fields, at: head.count - 2)
        return head + form
    }

    /// What of it keeps a header line one line.
    private static func oneLine(_ octets: [UInt8]) -> [UInt8] { octets.filter { $0 != 0x0D && $0 != 0x0A } }
}
