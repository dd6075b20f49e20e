/// What is wrong with one value, and what to write instead: the end of a sentence that begins with its key.
///
/// Never quotes a value that may hold a secret, such as a URL.
struct ValueDefect: Error, Hashable {
    let message: String

    init(_ message: String) { self.message = message }
}
