/// Paths of the configuration: absolute, since a service has no working directory to speak of.
enum PathText {
    static func absolute(_ text: String) throws(ValueDefect) -> String {
        guard text.hasPrefix("/"), !text.utf8.contains(0) else {
            throw ValueDefect("write an absolute path, beginning with /")
        }
        return text
    }
}
