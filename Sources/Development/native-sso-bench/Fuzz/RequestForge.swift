import BrokerTesting
import OAuthWire
import StrictCoding

/// Makes good requests of every kind, and bends some of them. The same seed and number bend in the same way. Keys,
/// logins and the time come from the run.
struct RequestForge {
    let seed: UInt64
    let material: FuzzMaterial

    /// What it is about. Each is bent in its own way; the first draw decides.
    enum Kind: CaseIterable {
        case form, idToken, unsignedIDToken, refresh, client, key, enrolment, code, logout, head, framing

        /// Of a hundred requests. What costs a signature, or a request to the identity provider, is rarer.
        var share: Int {
            switch self {
            case .form: 28
            case .idToken: 14
            case .unsignedIDToken: 14
            case .refresh: 10
            case .client: 8
            case .key: 8
            case .enrolment: 4
            case .code: 1
            case .logout: 5
            case .head: 5
            case .framing: 3
            }
        }

        fileprivate static func drawn(_ random: inout SeededRandom) -> Kind {
            var rest = random.below(allCases.reduce(0) { $0 + $1.share })
            for kind in allCases {
                if rest < kind.share { return kind }
                rest -= kind.share
            }
            return .form
        }
    }

    func kind(_ number: Int) -> Kind {
        var random = random(number)
        return .drawn(&random)
    }

    /// A quarter of what can be said in HTTP/2 is.
    func request(_ number: Int) throws -> FuzzedRequest {
        var random = random(number)
        let kind = Kind.drawn(&random)
        var request = try request(number, kind, &random)
        if request.transport == .http1, random.oneIn(4) {
            if random.oneIn(30) {
                request.transport = .loneFrames
                request.rawOctets = FrameMutation.octets(of: request.message, &random)
                request.expects.mustSucceed = false
                // The field of a proof can be lost, or one of two.
                request.expects.mustBeBound = false
                if kind == .key { request.expects.mustBeRefused = false }
            } else if request.message.body.count < FuzzFrameConnection.largestBody {
                request.transport = .http2
            }
        }
        return request
    }

    /// Requests that must always succeed: one of each kind, and an exchange and its refresh over both HTTP versions.
    func goodRequests(from number: Int) throws -> [FuzzedRequest] {
        var requests: [FuzzedRequest] = []
        for kind in [Kind.client, .key, .enrolment, .code, .logout] {
            // The next good request.
            for candidate in number... where self.kind(candidate) == kind {
                var request = try request(candidate)
                guard request.expects.mustSucceed else { continue }
                if request.transport != .internal { request.transport = .http1 }
                requests.append(request)
                break
            }
        }
        let (login, token) = material.logins[0]
        let exchange = FuzzForm(FuzzMaterial.exchange(login, token, client: SampleApps.targets[0]))
        // Of another, since an exchange ends what can be refreshed.
        let (refreshed, itsToken) = material.logins[1]
        let refresh = FuzzForm(FuzzMaterial.refresh(try material.newRefreshToken(refreshed, itsToken)))
        let expects = FuzzedRequest.Expectation(mustSucceed: true, subjects: [login.subject, refreshed.subject])
        for transport in [FuzzTransport.http1, .http2] {
            requests.append(FuzzedRequest(number, FuzzMessage(exchange), at: transport, expects))
            requests.append(FuzzedRequest(number, FuzzMessage(refresh), at: transport, expects))
        }
        return requests
    }

    private func random(_ number: Int) -> SeededRandom {
        SeededRandom(seed: seed &+ UInt64(number) &* 0xD129_0D3E_8CF5_A2AB)
    }

    private func request(_ number: Int, _ kind: Kind, _ random: inout SeededRandom) throws -> FuzzedRequest {
        switch kind {
        case .form: bentForm(number, &random)
        case .idToken: try signedIDToken(number, &random)
        case .unsignedIDToken: unsignedIDToken(number, &random)
        case .refresh: bentRefresh(number, &random)
        case .client: try provenClient(number, &random)
        case .key: try provenKey(number, &random)
        case .enrolment: try enrolment(number, &random)
        case .code: code(number, &random)
        case .logout: try logout(number, &random)
        case .head: bentHead(number, &random)
        case .framing: bentFraming(number, &random)
        }
    }

    // MARK: Parts

    /// An exchange of one of the logins, and whom it is of.
    func exchange(_ random: inout SeededRandom) -> (form: FuzzForm, login: Login) {
        let (login, token) = material.logins[random.below(material.logins.count)]
        return (FuzzForm(FuzzMaterial.exchange(login, token, client: app(&random))), login)
    }

    func app(_ random: inout SeededRandom) -> String { random.pick(SampleApps.targets) ?? "" }

    // MARK: Forms, heads and framing

    private func bentForm(_ number: Int, _ random: inout SeededRandom) -> FuzzedRequest {
        var (form, login) = exchange(&random)
        if random.oneIn(4) {
            let index = random.below(material.refreshTokens.count)
            form = FuzzForm(FuzzMaterial.refresh(material.refreshTokens[index]))
            login = material.logins[index].login
        }
        form.mutate(&random)
        return FuzzedRequest(number, FuzzMessage(form), at: .http1, .init(subjects: [login.subject]))
    }

    private func bentHead(_ number: Int, _ random: inout SeededRandom) -> FuzzedRequest {
        let (form, login) = exchange(&random)
        var message = FuzzMessage(form)
        var target = Array((random.pick(["/token", "/token?a=b", "/", "/metrics", "/readyz", "/token/"]) ?? "").utf8)
        if random.oneIn(2) { OctetMutation.apply(to: &target, &random) }
        // In no other form than that of a path, and one word: the request must end where it says.
        target = target.filter { (0x21...0x7E).contains($0) }
        if target.first != UInt8(ascii: "/") { target.insert(UInt8(ascii: "/"), at: 0) }
        message.target = target
        if random.oneIn(2) { OctetMutation.apply(to: &message.fields[0].value, &random) }
        let method = random.pick(["POST", "POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "PATCH"]) ?? ""
        message.method = Array(method.utf8)
        for _ in 0..<random.below(4) {
            var value = Array((random.pick(["Basic YXBwLTAwOg==", "x", "gzip", "application/json", "en"]) ?? "").utf8)
            if random.oneIn(2) { OctetMutation.apply(to: &value, &random) }
            let name = random.pick(["Authorization", "Content-Encoding", "Accept", "X-A", "Cookie", "DPoP"]) ?? ""
            message.add(name, value)
        }
        return FuzzedRequest(number, message, at: .http1, .init(subjects: [login.subject]))
    }

    private func bentFraming(_ number: Int, _ random: inout SeededRandom) -> FuzzedRequest {
        let (form, login) = exchange(&random)
        var request = FuzzedRequest(number, FuzzMessage(form), at: .lone, .init(subjects: [login.subject]))
        var octets = request.message.octets
        if random.oneIn(3) {
            let (second, login) = exchange(&random)
            octets += FuzzMessage(second).octets
            request.expects.subjects.append(login.subject)
        }
        OctetMutation.apply(to: &octets, &random)
        request.rawOctets = octets
        return request
    }
}

/// Changes to what a client of HTTP/2 sends, frame by frame, and then octet by octet.
enum FrameMutation {
    /// A connection with one request, after one to three changes.
    static func octets(of message: FuzzMessage, _ random: inout SeededRandom) -> [UInt8] {
        var frames = [RawFrame(.settings)] + message.frames(on: 1)
        for _ in 0...random.below(3) {
            let (index, other) = (random.below(frames.count), random.below(frames.count))
            switch random.below(9) {
            case 0: frames.remove(at: index)
            case 1: frames.insert(frames[index], at: other)
            case 2: frames.swapAt(index, other)
            case 3: frames[index].stream = random.pick([0, 1, 2, 3, 5, 0x7FFF_FFFF, 0xFFFF_FFFF]) ?? 0
            case 4: frames[index].flags ^= 1 << UInt8(random.below(8))
            case 5: frames[index].kind = UInt8(random.below(12))
            case 6: OctetMutation.apply(to: &frames[index].payload, &random)
            default: frames.insert(strange(&random), at: index)
            }
            if frames.isEmpty { break }
        }
        var octets = RawFrame.preface + frames.flatMap(\.octets)
        if random.oneIn(4) { OctetMutation.apply(to: &octets, &random) }
        return octets
    }

    /// One that may come at any time, or never.
    private static func strange(_ random: inout SeededRandom) -> RawFrame {
        let number: UInt32 = random.pick([0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 16_384, 65_536]) ?? 0
        let stream = UInt32(random.below(4))
        switch random.below(8) {
        case 0: return RawFrame(.ping, flags: UInt8(random.below(2)), stream: stream, Array(repeating: 7, count: 8))
        case 1: return RawFrame(.windowUpdate, stream: stream, RawFrame.big(number))
        case 2: return RawFrame(.reset, stream: stream, RawFrame.big(8))
        case 3: return RawFrame(.settings, stream: stream, [0, UInt8(random.below(9))] + RawFrame.big(number))
        case 4: return RawFrame(.priority, stream: stream, RawFrame.big(stream) + [16])
        case 5: return RawFrame(.goAway, stream: stream, RawFrame.big(0) + RawFrame.big(0))
        case 6: return RawFrame(.continuation, flags: RawFrame.endHeaders, stream: stream, [0x82])
        default:
            return RawFrame(kind: UInt8(random.below(256)), flags: 0, stream: stream, payload: RawFrame.big(number))
        }
    }
}
