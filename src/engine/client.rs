//! The conversation with one server process: LSP by `async-lsp` on a thread of its own, asked synchronously.
//!
//! Every request and notification of the server is answered or ignored explicitly: the loop stops at anything that it has
//! no rule for, and this server sends notifications of its own. One command is in flight at a time.

use std::ops::ControlFlow;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc;
use std::time::Duration;

use async_lsp::router::Router;
use async_lsp::{ErrorCode, MainLoop, ResponseError, ServerSocket};
use lsp_types::notification::{Exit, Initialized};
use lsp_types::request::{self, ExecuteCommand, Initialize, Shutdown};
use lsp_types::{
    ApplyWorkspaceEditResponse, ClientCapabilities, ExecuteCommandParams, InitializeParams, InitializedParams,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use super::EngineError;
use super::server::{self, ServerSettings};
use super::wire::Command;
use crate::process::{Conversation, ProcessError};

/// Time for the server's good-bye; it took 0.8 to 1.4 s in measurements.
const GOODBYE: Duration = Duration::from_secs(5);

/// A running server that answers commands.
#[derive(Debug)]
pub(super) struct Client {
    // Dropped first: the server's end closes the pipes, and that ends the thread.
    conversation: Conversation,
    jobs: UnboundedSender<Job>,
}

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum Silence {
    /// The answer came after the deadline.
    Late,
    /// Not even in twice the time.
    Mute,
    /// The process is gone, or what it says is no LSP any more.
    Ended,
    /// The server answered with an error.
    Refused(String),
}

type Reply = Result<Value, Silence>;

#[derive(Debug)]
struct Job {
    what: Work,
    deadline: Duration,
    reply: mpsc::Sender<Reply>,
}

#[derive(Debug)]
enum Work {
    Initialize(Box<InitializeParams>),
    Command(Command, Value),
    Shutdown,
}

impl Client {
    /// Launches a server and shakes hands with it.
    pub fn start(settings: &ServerSettings) -> Result<Self, EngineError> {
        let (conversation, stdin, stdout) = server::launch(settings)?;
        let (jobs, queue) = unbounded_channel();
        std::thread::Builder::new()
            .name("language-server".to_owned())
            .spawn(move || speak(stdin, stdout, queue))
            .map_err(|source| ProcessError::Spawn {
                command: "language-server thread".to_owned(),
                dir: settings.state_dir.clone(),
                source,
            })?;
        let client = Self { conversation, jobs };
        match client.ask(Work::Initialize(Box::new(greeting(settings))), settings.start_deadline) {
            Ok(_capabilities) => Ok(client),
            Err(silence) => Err(client.fate(silence, settings)),
        }
    }

    /// Sends one command and waits for its reply.
    pub fn command(&self, command: Command, arguments: Value, deadline: Duration) -> Reply {
        self.ask(Work::Command(command, arguments), deadline)
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.conversation.id()
    }

    /// Ends the server because of `silence` during its start; the error says why.
    pub fn fate(self, silence: Silence, settings: &ServerSettings) -> EngineError {
        match silence {
            Silence::Ended => {
                let stderr = self.conversation.finish(GOODBYE);
                EngineError::Ended { last_words: server::last_words(settings, &stderr) }
            }
            Silence::Late | Silence::Mute => EngineError::StartDeadline { deadline: settings.start_deadline },
            Silence::Refused(message) => EngineError::Refused { message },
        }
    }

    /// Asks the server to end, and sees to it that it does.
    pub fn shut_down(self) {
        // A server that does not take leave is stopped all the same.
        let _farewell = self.ask(Work::Shutdown, GOODBYE);
        drop(self.jobs);
        self.conversation.finish(GOODBYE);
    }

    fn ask(&self, what: Work, deadline: Duration) -> Reply {
        let (reply, answer) = mpsc::channel();
        // Both fail only when the loop has ended, and its jobs with it.
        self.jobs.send(Job { what, deadline, reply }).map_err(|_closed| Silence::Ended)?;
        answer.recv().map_err(|_dropped| Silence::Ended)?
    }
}

fn greeting(settings: &ServerSettings) -> InitializeParams {
    InitializeParams {
        // The server ends by itself when this process is gone.
        process_id: Some(std::process::id()),
        capabilities: ClientCapabilities::default(),
        initialization_options: Some(json!({
            "bundles": [settings.bundle],
            "settings": { "java": {
                "autobuild": { "enabled": false },
                "import": { "maven": { "enabled": false }, "gradle": { "enabled": false } },
            } },
        })),
        ..InitializeParams::default()
    }
}

/// The thread's body: runs until the server ends or the client is dropped.
fn speak(stdin: ChildStdin, stdout: ChildStdout, queue: UnboundedReceiver<Job>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread needs nothing but an event queue");
    runtime.block_on(async move {
        let (Ok(stdin), Ok(stdout)) =
            (tokio::process::ChildStdin::from_std(stdin), tokio::process::ChildStdout::from_std(stdout))
        else {
            return;
        };
        let (main_loop, socket) = MainLoop::new_client(|_socket| rules());
        tokio::select! {
            // Whatever ended the loop, the jobs in flight are dropped and seen as `Silence::Ended`.
            _end = main_loop.run_buffered(stdout.compat(), stdin.compat_write()) => {}
            () = async {
                work(&socket, queue).await;
                // The last message has to go out; then the server ends, and the loop with it.
                tokio::time::sleep(GOODBYE).await;
            } => {}
        }
    });
}

async fn work(socket: &ServerSocket, mut queue: UnboundedReceiver<Job>) {
    while let Some(Job { what, deadline, reply }) = queue.recv().await {
        let answer = patiently(deadline, perform(socket, what)).await;
        // The one who asked waits for it; if not, nobody is left to tell.
        let _gone = reply.send(answer);
    }
}

/// Waits for twice the deadline, so that a late answer is told from none.
async fn patiently(deadline: Duration, answer: impl Future<Output = Reply>) -> Reply {
    tokio::pin!(answer);
    match tokio::time::timeout(deadline, &mut answer).await {
        Ok(reply) => reply,
        Err(_elapsed) => match tokio::time::timeout(deadline, answer).await {
            Ok(Err(Silence::Ended)) => Err(Silence::Ended),
            Ok(_late) => Err(Silence::Late),
            Err(_elapsed) => Err(Silence::Mute),
        },
    }
}

async fn perform(socket: &ServerSocket, what: Work) -> Reply {
    let answer = match what {
        Work::Initialize(params) => match socket.request::<Initialize>(*params).await {
            Ok(_capabilities) => socket.notify::<Initialized>(InitializedParams {}).map(|()| Value::Null),
            Err(error) => Err(error),
        },
        Work::Command(command, arguments) => {
            let params = ExecuteCommandParams {
                command: command.name().to_owned(),
                arguments: vec![arguments],
                ..ExecuteCommandParams::default()
            };
            socket.request::<ExecuteCommand>(params).await.map(Option::unwrap_or_default)
        }
        Work::Shutdown => {
            // The server answers with an object where the protocol has nothing.
            let _odd = socket.request::<Shutdown>(()).await;
            socket.notify::<Exit>(()).map(|()| Value::Null)
        }
    };
    answer.map_err(|error| match error {
        async_lsp::Error::Response(response) => Silence::Refused(response.message),
        _broken => Silence::Ended,
    })
}

/// The answer to each thing that the server may ask or tell.
fn rules() -> Router<()> {
    let mut router = Router::new(());
    router
        .request::<request::RegisterCapability, _>(|(), _| async { Ok(()) })
        .request::<request::UnregisterCapability, _>(|(), _| async { Ok(()) })
        .request::<request::WorkDoneProgressCreate, _>(|(), _| async { Ok(()) })
        .request::<request::WorkspaceConfiguration, _>(|(), params| async move {
            Ok(vec![Value::Null; params.items.len()])
        })
        .request::<request::ShowMessageRequest, _>(|(), _| async { Ok(None) })
        .request::<request::ApplyWorkspaceEdit, _>(|(), _| async {
            Ok(ApplyWorkspaceEditResponse { applied: false, failure_reason: None, failed_change: None })
        })
        .unhandled_request(|(), request| async move {
            Err(ResponseError::new(ErrorCode::METHOD_NOT_FOUND, format!("no rule for `{}`", request.method)))
        })
        // Diagnostics, log messages, progress, `language/status` (which is not readiness): none changes an answer.
        .unhandled_notification(|(), _| ControlFlow::Continue(()))
        .unhandled_event(|(), _| ControlFlow::Continue(()));
    router
}
