import CPKCS11
import Dispatch
import NativeSSO
import StrictCoding
import Synchronization

/// Where a PKCS#11 token is.
package struct TokenSettings: Sendable {
    /// The path of the module, a shared library.
    package let module: String
    /// The label of the token.
    package let token: String
    /// How many signatures the token makes at once.
    package let sessions: Int
    let pin: [UInt8]

    /// - Parameter pin: Of the normal user.
    package init(module: String, token: String, pin: String, sessions: Int = 4) {
        self.module = module
        self.token = token
        self.pin = Array(pin.utf8)
        self.sessions = max(sessions, 1)
    }

    fileprivate func hasSameLogin(as other: TokenSettings) -> Bool {
        token.hasSameOctets(as: other.token) && pin == other.pin
    }
}

/// The modules of this process. A module is loaded once, and sessions are opened one at a time.
enum TokenModule {
    @safe private struct Module: @unchecked Sendable {
        // The list is constant, and PKCS#11 allows calls from all threads after an initialisation with locks.
        let functions: UnsafeMutablePointer<ck_function_list>
        var sessions = 0
        /// Several sessions begin at the same moment, and a token locks a PIN after few tries.
        var refused: [(settings: TokenSettings, defect: TokenDefect)] = []

        func initialize() throws(TokenDefect) {
            let code = unsafe cpkcs11_initialize(functions)
            if code != CKR_CRYPTOKI_ALREADY_INITIALIZED { try TokenSession.check("C_Initialize", code) }
        }

        func open(_ settings: TokenSettings) throws(TokenDefect) -> TokenSession {
            do throws(TokenDefect) {
                return unsafe try TokenSession(settings, functions)
            } catch {
                // Some modules see a new token only after they were initialised again, which ends all sessions.
                guard sessions == 0 else { throw error }
                switch error {
                case .noToken: try TokenSession.check("C_Finalize", unsafe functions.pointee.C_Finalize?(nil))
                case .failed(_, CKR_CRYPTOKI_NOT_INITIALIZED): break
                default: throw error
                }
                try initialize()
                return unsafe try TokenSession(settings, functions)
            }
        }
    }

    private static let modules = Mutex<[String: Module]>([:])

    static func open(_ settings: TokenSettings) throws(TokenDefect) -> TokenSession {
        try modules.withLock { modules throws(TokenDefect) in
            let path = settings.module
            if modules[path] == nil { modules[path] = try load(path) }
            guard let module = modules[path] else { throw .module(path: path, reason: "it was not loaded") }
            if let refused = module.refused.first(where: { $0.settings.hasSameLogin(as: settings) }) {
                throw refused.defect
            }
            let session: TokenSession
            do throws(TokenDefect) {
                session = try module.open(settings)
            } catch {
                if error.concernsPIN { modules[path]?.refused.append((settings, error)) }
                throw error
            }
            modules[path]?.sessions += 1
            session.onEnd = { ended(path) }
            return session
        }
    }

    private static func ended(_ path: String) { modules.withLock { $0[path]?.sessions -= 1 } }

    private static func load(_ path: String) throws(TokenDefect) -> Module {
        var functions: UnsafeMutablePointer<ck_function_list>?
        if let reason = unsafe cpkcs11_load(path, &functions) {
            throw .module(path: path, reason: unsafe String(cString: reason))
        }
        guard let functions = unsafe functions else { throw .module(path: path, reason: "it has no functions") }
        let module = unsafe Module(functions: functions)
        try module.initialize()
        return module
    }
}

/// A token with a pool of sessions. Calls wait on threads of their own, never on an event loop.
///
/// After a failure it refuses all calls at once, so that nothing is written for a token that cannot be signed. It tries to
/// connect again after 0.5 s, then at growing distances of at most 4 s. A refused PIN is never tried again.
package final class Token: Sendable {
    private typealias Call = (number: UInt32, body: @Sendable (TokenSession) throws(TokenDefect) -> [UInt8])

    private struct Work {
        var waiting: [Call] = []
        var running = 0
        /// When the running calls began.
        var began: ContinuousClock.Instant?
        var count: Int { waiting.count + running }
    }

    private struct State {
        var failure: TokenDefect?
        var pause = 0
        /// For each session.
        var work: [Work]
        /// The usual time of a call.
        var usual = Token.patience
    }

    let settings: TokenSettings
    private let lanes: [Lane]
    private let state: Mutex<State>
    private let calls: OpenCalls

    /// Calls that may wait for one session.
    private static let mostWaiting = 64
    private static let patience = Duration.seconds(5)
    /// To wake one more session costs more than to wait for this many calls of a token that is as quick as this.
    private static let quick = (calls: 16, time: Duration.microseconds(500))

    package init(_ settings: TokenSettings) {
        self.settings = settings
        lanes = (0..<settings.sessions).map { Lane(settings, number: $0) }
        state = Mutex(State(work: Array(repeating: Work(), count: settings.sessions)))
        calls = OpenCalls(patience: Self.patience, most: settings.sessions * Self.mostWaiting, late: .token(.noAnswer))
        calls.watch(for: self) { token in token.state.withLock { $0.usual = Self.patience } }
    }

    /// Why calls are refused now; `nil`: the token works, as far as the last call says.
    package var failure: TokenDefect? { state.withLock { $0.failure } }

    /// How often a session was opened, or tried to be.
    var logins: Int { lanes.reduce(0) { $0 + $1.logins.load(ordering: .relaxed) } }

    /// Runs `body` with a session, and returns what it makes.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (TokenSession) throws(TokenDefect) -> Value
    ) async throws(KeyError) -> Value {
        let made = Made<Value>()
        _ = try await begin { session throws(TokenDefect) in
            let value = try body(session)
            made.value.withLock { $0 = value }
            return []
        }.value
        guard let value = made.value.withLock({ $0 }) else { throw .token(.noAnswer) }
        return value
    }

    private final class Made<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    /// Runs `body` with the session that has the least to do, or, if the token is quick, with one that is awake.
    func begin(
        _ body: @escaping @Sendable (TokenSession) throws(TokenDefect) -> [UInt8]
    ) -> Pending<[UInt8], KeyError> {
        .begin { () throws(KeyError) in
            let now = ContinuousClock.now
            let (call, sleeping) = try state.withLock { state throws(KeyError) -> (OpenCall, Int?) in
                if let failure = state.failure { throw .token(failure) }
                let room = state.usual < Self.quick.time ? Self.quick.calls : 1
                let longest = max(state.usual, Self.quick.time) * Self.quick.calls
                // A session that hangs comes last.
                let load = state.work.map { work in
                    work.count + (work.began.map { now - $0 < longest } ?? true ? 0 : Self.mostWaiting)
                }
                let lane = load.firstIndex { $0 < room } ?? load.indices.min { load[$0] < load[$1] } ?? 0
                guard state.work[lane].count < Self.mostWaiting, let call = calls.begin() else {
                    throw .token(.busy)
                }
                defer { state.work[lane].waiting.append((call.number, body)) }
                return (call, state.work[lane].count == 0 ? lane : nil)
            }
            if let sleeping { lanes[sleeping].queue.async { [self] in work(sleeping) } }
            return .coming { await call.answer }
        }
    }

    /// On the queue of the session, until nothing waits for it. Quick answers wake who waits for them together.
    private func work(_ lane: Int) {
        while true {
            let taken = state.withLock { state in
                let most = state.usual < Self.quick.time ? Self.quick.calls : 1
                let taken = Array(state.work[lane].waiting.prefix(most))
                state.work[lane].waiting.removeFirst(taken.count)
                state.work[lane].running = taken.count
                state.work[lane].began = taken.isEmpty ? nil : .now
                return taken
            }
            guard !taken.isEmpty else { return }
            let start = ContinuousClock.now
            var made: [(OpenCall.Answer, number: UInt32)] = []
            for call in taken {
                made.append((result(of: call, in: lane).mapError(KeyError.token), call.number))
                // The token has become slow.
                guard ContinuousClock.now - start > Self.quick.time * 2 else { continue }
                calls.give(made)
                made = []
            }
            let each = (ContinuousClock.now - start) / taken.count
            // Who gets an answer may call again at once: this session is free then.
            state.withLock { state in
                (state.work[lane].running, state.work[lane].began) = (0, nil)
                state.usual = (state.usual * 3 + each) / 4
            }
            calls.give(made)
        }
    }

    private func result(of call: Call, in lane: Int) -> Result<[UInt8], TokenDefect> {
        if let failure, failure.concernsPIN { return .failure(failure) }
        let result = lanes[lane].run(call.body)
        if case .failure(let defect) = result, defect.endsSession { begin(failure: defect) }
        return result
    }

    private func begin(failure: TokenDefect) {
        let isFirst = state.withLock { state in
            // A refused PIN stays refused.
            if let present = state.failure, present.concernsPIN { return false }
            defer { state.failure = failure }
            return state.failure == nil
        }
        if isFirst, !failure.concernsPIN { connectLater() }
    }

    private func connectLater() {
        let pause = state.withLock { state in
            state.pause = min(max(state.pause * 2, 500), 4000)
            return state.pause
        }
        lanes[0].queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
            guard let self, failure?.concernsPIN != true else { return }
            // A module may see a token again only after all its sessions are closed.
            for lane in lanes.dropFirst() { lane.queue.async { lane.close() } }
            let result = lanes[0].run { (_: TokenSession) throws(TokenDefect) in }
            guard case .failure(let defect) = result else {
                return state.withLock { ($0.failure, $0.pause) = (nil, 0) }
            }
            state.withLock { $0.failure = defect }
            if !defect.concernsPIN { connectLater() }
        }
    }
}

/// One session and the thread that uses it.
private final class Lane: @unchecked Sendable {
    let queue: DispatchQueue
    private let settings: TokenSettings
    /// Used on `queue` only.
    private var session: TokenSession?
    let logins = Atomic(0)

    init(_ settings: TokenSettings, number: Int) {
        self.settings = settings
        queue = DispatchQueue(label: "token session \(number)")
    }

    func close() { session = nil }

    /// Opens the session if there is none. A session that was closed meanwhile is opened again once.
    func run<Value>(_ body: (TokenSession) throws(TokenDefect) -> Value) -> Result<Value, TokenDefect> {
        let wasOpen = session != nil
        let first = attempt(body)
        if wasOpen, case .failure(let defect) = first, defect.endsSession, !defect.concernsPIN { return attempt(body) }
        return first
    }

    private func attempt<Value>(_ body: (TokenSession) throws(TokenDefect) -> Value) -> Result<Value, TokenDefect> {
        do throws(TokenDefect) {
            if let session { return .success(try body(session)) }
            logins.add(1, ordering: .relaxed)
            let session = try TokenModule.open(settings)
            self.session = session
            return .success(try body(session))
        } catch {
            if error.endsSession { session = nil }
            return .failure(error)
        }
    }
}
